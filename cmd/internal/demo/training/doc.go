// Package training is the demonstration of cmd/flcollector: three clients
// inside the process train a model of tumours, and every round is a line.
package training
