// Package private is an example of a training whose models can be read by none but the
// parties themselves: Flower clients in Python that encrypt with TenSEAL, and a
// collector that adds up what it cannot decrypt. See the README beside it. There is
// no code in Go but the test that runs it.
package private
