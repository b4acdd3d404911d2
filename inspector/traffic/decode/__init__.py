"""What is packed inside the texts of a message: base64, JSON in text, tokens, pictures, sounds, URLs.

No I/O, nothing is rendered or followed; imports `base` and the paths of `traffic.compare`. Start with
`find.py`.
"""
