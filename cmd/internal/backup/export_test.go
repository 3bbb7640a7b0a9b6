package backup

// IsKnown is isKnown, for tests.
func IsKnown(owner, name string) bool { return isKnown(owner, name) }
