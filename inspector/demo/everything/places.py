"""The small body of facts that the resources, the templates and the completions share."""

from __future__ import annotations

CITIES: dict[str, dict[str, str | float]] = {
    "Accra": {"country": "Ghana", "temperature": 30.0},
    "Bogotá": {"country": "Colombia", "temperature": 14.0},
    "Hanoi": {"country": "Vietnam", "temperature": 27.5},
    "Helsinki": {"country": "Finland", "temperature": 6.0},
    "Lagos": {"country": "Nigeria", "temperature": 29.0},
    "Lima": {"country": "Peru", "temperature": 19.5},
    "Lisbon": {"country": "Portugal", "temperature": 21.0},
    "London": {"country": "United Kingdom", "temperature": 12.0},
    "Osaka": {"country": "Japan", "temperature": 17.0},
    "Oslo": {"country": "Norway", "temperature": 5.5},
    "Quito": {"country": "Ecuador", "temperature": 15.0},
    "Wellington": {"country": "New Zealand", "temperature": 13.0},
}

BOOKS: dict[str, list[str]] = {
    "Austen": ["Emma", "Persuasion", "Pride and Prejudice"],
    "Borges": ["Ficciones", "The Aleph"],
    "Lem": ["His Master's Voice", "Solaris", "The Cyberiad"],
}
"""Titles by author: the second argument of a template whose completion depends on the first."""

LANGUAGES = ["C", "C++", "Go", "Java", "JavaScript", "Python", "Ruby", "Rust", "Swift", "TypeScript"]

STYLES = ["formal", "friendly", "pirate", "terse"]
