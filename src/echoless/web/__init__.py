"""The review page and the HTML report: what the library found, as pages; no logic."""
