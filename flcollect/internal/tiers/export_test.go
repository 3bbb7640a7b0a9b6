package tiers

// Known returns how many clients have a measurement.
func Known(s *Speeds) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.means)
}
