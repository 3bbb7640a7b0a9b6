package report

// Outcome is what became of a client's part in a round.
type Outcome string

// The outcomes.
const (
	// Kept is an update that is part of the result as it was sent.
	Kept Outcome = "kept"
	// Clipped is an update that is part of the result in a shortened form.
	Clipped Outcome = "clipped"
	// Refused is an update that is not part of the result.
	Refused Outcome = "refused"
	// Failed is an update that did not come.
	Failed Outcome = "failed"
)

// Client is a client's part in a round.
type Client struct {
	// Client is the identity of the client: "key:" and the SHA-256 of the public key
	// of its certificate, "name:" and the name that the program gives it, or
	// "session:" and the name of its session.
	Client string `json:"client"`
	// Name is the name that the client gives itself, which proves nothing; empty if it
	// gives none.
	Name string `json:"name,omitempty"`
	// Session is the name of its session.
	Session string `json:"session"`
	// Examples is the weight that it claimed.
	Examples int64 `json:"num_examples,omitempty"`
	// Update is the digest of what it sent, empty if no update came or the server
	// keeps no audit log.
	Update string `json:"update,omitempty"`
	// Outcome is what became of the update, Reason why it was not kept, or what is
	// notable of one that was.
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	// Far is whether an update that was kept as it was sent lay beyond the bound.
	Far bool `json:"far,omitempty"`
	// Norm is how far the update lay from the model, Bound how far it was allowed to;
	// nil where it was not measured, or where there was no bound.
	Norm  *float64 `json:"norm,omitempty"`
	Bound *float64 `json:"bound,omitempty"`
	// Counters is how far its layers of whole numbers lay from those of the model,
	// which Norm leaves out; nil if they did not move, or were not measured.
	Counters *float64 `json:"counters,omitempty"`
	// Converted lists the layers that were converted to the types of the model, nil
	// if none was.
	Converted []Conversion `json:"converted,omitempty"`
	// Dropped is how many layers the update had that should have stayed at the client, and
	// were dropped.
	Dropped int `json:"dropped,omitempty"`
	// Compressed is how the client compressed the update, nil if it did not.
	Compressed *Compression `json:"compressed,omitempty"`
	// Staleness is how many versions of an asynchronous job were created while the client
	// trained; nil in a round.
	Staleness *int `json:"staleness,omitempty"`
	// Reputation is the reputation of the client after the round, nil if it is that
	// of a client without fault.
	Reputation *Reputation `json:"reputation,omitempty"`
}
