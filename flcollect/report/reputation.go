package report

// Reputation is the reputation of a client within a job. The zero value is that of a
// client without fault.
type Reputation struct {
	// Score is the recent cost of the client; from 1.5 on it is suspended.
	Score float64 `json:"score"`
	// Until is the last round of its suspension, 0 if it has never been suspended.
	Until int `json:"suspended_until,omitempty"`
	// Level is how many times its suspension was doubled, Good how many rounds
	// without fault have followed.
	Level int `json:"level,omitempty"`
	Good  int `json:"good,omitempty"`
	// Round is the last round that had a cost, Reason what caused it.
	Round  int    `json:"round,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Suspended reports whether the client is drawn for a round only where there are
// too few others.
func (r Reputation) Suspended(round int) bool { return round <= r.Until }

// Suspension is a client that is drawn only where there are too few others.
type Suspension struct {
	// Client is the identity of the client.
	Client string `json:"client"`
	// Until is the last round of the suspension.
	Until int `json:"until"`
	// Reason says what caused it.
	Reason string `json:"reason"`
}
