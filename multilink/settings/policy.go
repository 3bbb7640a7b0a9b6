package settings

// Policy says which links a frame uses.
type Policy string

// The policies.
const (
	// ActiveBackup uses the best link alone.
	ActiveBackup Policy = "active-backup"
	// Redundant sends a copy over every usable link. Duplicates are
	// dropped. When a quicker link comes back, its frames once overtake those that
	// are under way on the others.
	Redundant Policy = "redundant"
	// Adaptive uses the best link, and copies over the next while it is suspect.
	Adaptive Policy = "adaptive"
	// BalanceFlow spreads flows over the usable links. A flow keeps its link,
	// and so its order, as long as that is usable.
	BalanceFlow Policy = "balance-flow"
)

// Policies returns all policies.
func Policies() []Policy { return []Policy{ActiveBackup, Redundant, Adaptive, BalanceFlow} }

// Valid reports whether p is one of the policies.
func (p Policy) Valid() bool {
	for _, known := range Policies() {
		if p == known {
			return true
		}
	}
	return false
}
