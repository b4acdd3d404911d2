"""Servers in the files of other tools: which there are, what each would do, and whether the person agrees.

Start reading at `panel.py`. Everything that is shown here is untrusted text.
"""
