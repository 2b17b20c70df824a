"""The ops, by subject. Each is declared once: forward, rules, samples."""
