// Package wire is what the test on the host and the first process of the guest
// say to each other: one JSON object a line, in both directions, over a port
// that is neither the console nor a network.
package wire

// Port is the name of the port in the guest.
const Port = "enablers.vmtest"

// Request is a line from the host. What is set says what is asked.
type Request struct {
	// ID is the process that is meant, chosen by the host with Start.
	ID uint64 `json:"id,omitempty"`
	// Start starts a process.
	Start *Start `json:"start,omitempty"`
	// Input is for the standard input of the process.
	Input []byte `json:"input,omitempty"`
	// Signal is sent to the process, by its number.
	Signal int `json:"signal,omitempty"`
	// PowerOff ends the guest.
	PowerOff bool `json:"power_off,omitempty"`
}

// Start says which process to start.
type Start struct {
	// Argv is the program, by its path or found in PATH, and its arguments.
	Argv []string `json:"argv"`
	// Env are variables besides those that every process gets, as NAME=VALUE.
	Env []string `json:"env,omitempty"`
}

// Report is a line from the guest. What is set says what happened.
type Report struct {
	// ID is the process that is meant.
	ID uint64 `json:"id,omitempty"`
	// Ready says that the modules are loaded and that requests are heard.
	Ready *Ready `json:"ready,omitempty"`
	// Output is from the standard output of the process.
	Output []byte `json:"output,omitempty"`
	// Complaint is from the standard error of the process.
	Complaint []byte `json:"complaint,omitempty"`
	// Exit says that the process ended. All that it wrote was reported before.
	Exit *Exit `json:"exit,omitempty"`
}

// Ready describes the guest.
type Ready struct {
	// Uptime is how long the kernel runs, in seconds.
	Uptime float64 `json:"uptime"`
	// Failure is why the guest is not usable after all, or empty.
	Failure string `json:"failure,omitempty"`
}

// Exit says how a process ended.
type Exit struct {
	// Code is the exit status, and -1 for a process that did not start or that
	// a signal ended.
	Code int `json:"code"`
	// Cause is what Code does not say, or empty.
	Cause string `json:"cause,omitempty"`
}
