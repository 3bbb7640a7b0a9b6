package main

// record is what one run of the benchmark measured.
type record struct {
	Command  string   `json:"command"`
	Date     string   `json:"date"`
	Commit   string   `json:"commit"`
	Machine  string   `json:"machine"`
	Size     size     `json:"size"`
	Seconds  float64  `json:"seconds"` // of each measurement
	Trials   []trial  `json:"trials"`
	Problems []string `json:"problems,omitempty"`
}

// trial is one server, without and with the siege.
type trial struct {
	Server string  `json:"server"`
	Load   float64 `json:"load"` // average of the machine before it
	Calm   latency `json:"calm"`
	Siege  latency `json:"siege"`
	Before float64 `json:"before"` // bytes of memory
	Peak   float64 `json:"peak"`
	Attack attack  `json:"attack"`
}

// latency is of the legitimate calls, in milliseconds.
type latency struct {
	Calls  int     `json:"calls"`
	Failed int     `json:"failed"`
	P50    float64 `json:"p50"`
	P99    float64 `json:"p99"`
}

// attack is what the attackers did.
type attack struct {
	Connections    int64 `json:"connections"`      // that were allocated
	Closed         int64 `json:"closed"`           // by the server, or at the end
	Refused        int64 `json:"refused"`          // that were not made
	SignIns        int64 `json:"sign_ins"`         // that were answered
	SignInsRefused int64 `json:"sign_ins_refused"` // of them with 401, 403 or 429
}
