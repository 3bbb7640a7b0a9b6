package report

import "fmt"

// Sampling says how the clients of a round were drawn by their speed.
type Sampling struct {
	// Tier is the tier that the round drew its clients from, from 1 for the fastest to
	// Tiers; 0 is that of the clients whose speed is not known yet.
	Tier  int `json:"tier"`
	Tiers int `json:"tiers"`
	// Size is how many clients the tier has. Clients were drawn, Filled of them from the
	// next tiers, because this one has too few.
	Size    int `json:"size"`
	Clients int `json:"clients"`
	Filled  int `json:"filled,omitempty"`
	// Deviation is the greatest difference of a client's chance to be drawn from that of
	// uniform sampling, as a share of the latter.
	Deviation float64 `json:"deviation,omitempty"`
}

// String returns a text such as "drawn from tier 2 of 5, which has 4 clients".
func (s Sampling) String() string {
	text := fmt.Sprintf("drawn from tier %d of %d, which has %d clients", s.Tier, s.Tiers, s.Size)
	if s.Tier == 0 {
		text = fmt.Sprintf("drawn from the %d clients whose speed is not known", s.Size)
	}
	if s.Filled > 0 {
		text += fmt.Sprintf("; %d of %d clients are from the next tiers", s.Filled, s.Clients)
	}
	return text
}

// Samplings sums up how the clients of rounds were drawn by their speed.
type Samplings struct {
	// Rounds counts the rounds by their tier, from the fastest, with those of unknown
	// speed at the end.
	Rounds []int `json:"rounds"`
	// Filled is how many clients were drawn from another tier than that of their round.
	Filled int `json:"filled,omitempty"`
	// Deviation is the greatest of a round.
	Deviation float64 `json:"deviation,omitempty"`
}

// Plus returns the sum with a round; s may be nil.
func (s *Samplings) Plus(round Sampling) *Samplings {
	sum := &Samplings{Rounds: make([]int, round.Tiers+1)}
	if s != nil {
		sum.Filled, sum.Deviation = s.Filled, s.Deviation
		copy(sum.Rounds, s.Rounds)
	}
	at := round.Tier - 1
	if round.Tier == 0 {
		at = round.Tiers
	}
	sum.Rounds[at]++
	sum.Filled += round.Filled
	sum.Deviation = max(sum.Deviation, round.Deviation)
	return sum
}

// String returns a text such as "rounds of each tier, from the fastest: 3, 4; of unknown
// speed: 2; the chance of a client differed from uniform sampling by up to 0 %".
func (s Samplings) String() string {
	last := len(s.Rounds) - 1
	text := "rounds of each tier, from the fastest: "
	for i, n := range s.Rounds[:last] {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(n)
	}
	text += fmt.Sprintf("; of clients of unknown speed: %d; the chance of a client differed from uniform sampling by up to %.3g %%",
		s.Rounds[last], 100*s.Deviation)
	if s.Filled > 0 {
		text += fmt.Sprintf("; %d clients were from another tier than that of their round", s.Filled)
	}
	return text
}
