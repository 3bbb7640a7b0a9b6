package flcollect

import "context"

// Orchestrator receives the progress of trainings. Its methods are called concurrently,
// but for one job in order, and again until they return nil or an error that matches
// [ErrRefused].
type Orchestrator interface {
	// RoundDone reports that a round has ended.
	RoundDone(ctx context.Context, round RoundDone) error
	// EarlyEnd reports that a target was surpassed. By then the result is stored.
	EarlyEnd(ctx context.Context, end EarlyEnd) error
}

// RoundDone reports a round.
type RoundDone struct {
	ModelName    string `json:"model_name"`
	ModelVersion string `json:"model_version"`
	Round        int    `json:"round"`
}

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
