"""Tests of behavior that only Windows has; skipped elsewhere. They also run under Wine."""
