"""Judging many pairs: in batches, in several processes, with verdicts kept between runs."""
