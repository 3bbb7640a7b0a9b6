package flower

// TurnIsTaken reports whether an instruction of the session is under way.
func TurnIsTaken(s *Session) bool { return len(s.turn) == 1 && s.gate.awaits() }

func (g *gate) awaits() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.due
}

// RelayMemory returns how many bytes the relays of a server hold, and how many messages wait
// to be admitted.
func RelayMemory(s *Server) (used int64, waiting int) {
	s.relays.mu.Lock()
	defer s.relays.mu.Unlock()
	return s.relays.used, s.relays.waiting.Len()
}
