package flower

// TurnIsTaken reports whether an instruction of the session is under way.
func TurnIsTaken(s *Session) bool { return len(s.turn) == 1 && s.gate.awaits() }

func (g *gate) awaits() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.due
}
