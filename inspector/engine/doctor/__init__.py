"""The connection doctor: walks the way to a server step by step, and says at which one it fails, why, and
what to do.

Read `examine.py` first: it walks. What is looked at becomes evidence (`program.py`, `wires.py`, `talk.py`);
what evidence means is said by pure functions (`programrules.py`, `outputrules.py` with its table in
`outputwords.py`, `wirerules.py`, `noanswerrules.py`, `answerrules.py`, `loginrules.py`, `talkrules.py`).
`doctor.py` is the part of the engine that others ask.
"""
