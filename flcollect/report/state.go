package report

// State is the state of a job.
type State string

// The states. A job goes from WAITING to TRAINING when its first clients are drawn, and
// ends as FINISHED or INTERRUPTED. INACTIVE is a job that is not known.
const (
	Inactive    State = "INACTIVE"
	Waiting     State = "WAITING"
	Training    State = "TRAINING"
	Interrupted State = "INTERRUPTED"
	Finished    State = "FINISHED"
)

// Ended reports whether the state is a last one.
func (s State) Ended() bool { return s == Interrupted || s == Finished }

// EarlyEnd reports a metric that was greater than its target, or with Below less.
type EarlyEnd struct {
	ModelName    string  `json:"model_name"`
	ModelVersion string  `json:"model_version"`
	Round        int     `json:"round"`
	Metric       string  `json:"metric"`
	Value        float64 `json:"value_achieved"`
	Target       float64 `json:"value_maximal"`
	Below        bool    `json:"below,omitempty"`
}

// RoundDone reports a round that has ended.
type RoundDone struct {
	ModelName    string `json:"model_name"`
	ModelVersion string `json:"model_version"`
	Round        int    `json:"round"`
}
