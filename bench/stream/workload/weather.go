// Package workload makes the messages that the streams carry, says what they
// are mapped to, and keeps account of what comes out.
package workload

import (
	_ "embed"
	"fmt"
	"strconv"
)

// Mapping is the mapping of the messages, for all who can read CARML.
//
//go:embed weather.ttl
var Mapping string

const (
	// Size is the size of a message in bytes.
	Size = 500
	// Statements is what the mapping makes of a message.
	Statements = 12
	// OutputSize is the size of that in N-Triples, in bytes.
	OutputSize = 1626
	// Stations is the number of stations that report in turn; the station is
	// the key of a message.
	Stations = 64
)

// mark stands before the number of a message, in the message and, because it
// is part of the identifier, in all that is made of it.
const mark = "obs-"

const digits = 9

// Weather makes messages. It is for one goroutine.
type Weather struct {
	message                   []byte
	id, station, temp, second int // where these begin
}

// NewWeather returns a maker of messages.
func NewWeather() *Weather {
	w := &Weather{}
	at := func(text string) int {
		w.message = append(w.message, text...)
		return len(w.message)
	}
	w.id = at(`{"id":"` + mark)
	w.station = at(`000000000","station":"KJFK-`)
	w.second = at(`00","time":"2026-03-14T09:26:`)
	w.temp = at(`00Z","temp":2`)
	at(`1.43,"dewp":11.87,"humid":53.9,"wind_dir":271.5,"wind_speed":14.38,"wind_gust":23.01,` +
		`"precip":0.02,"pressure":1013.2,"visib":9.9,"metar":"`)
	const tail = `"}`
	const report = "KJFK 140926Z 27014G23KT 10SM FEW045 SCT250 21/12 A2992 RMK AO2 SLP132 T02140119 "
	for i := 0; len(w.message) < Size-len(tail); i++ {
		w.message = append(w.message, report[i%len(report)])
	}
	w.message = append(w.message, tail...)
	return w
}

// Message returns message number n, valid until the next call.
func (w *Weather) Message(n int) []byte {
	put := func(at, width, value int) {
		for i := at + width - 1; i >= at; i-- {
			w.message[i] = byte('0' + value%10)
			value /= 10
		}
	}
	put(w.id, digits, n)
	put(w.station, 2, n%Stations)
	put(w.second, 2, n%60)
	put(w.temp, 1, n%10)
	return w.message
}

// Key returns the key of message number n.
func Key(n int) []byte { return fmt.Appendf(nil, "KJFK-%02d", n%Stations) }

// number returns the number of the message that a payload is, or was made of.
func number(payload []byte) (int, error) {
	for i := 0; i+len(mark)+digits <= len(payload); i++ {
		if payload[i] == mark[0] && string(payload[i:i+len(mark)]) == mark {
			return strconv.Atoi(string(payload[i+len(mark) : i+len(mark)+digits]))
		}
	}
	return 0, fmt.Errorf("a message of %d bytes without a number", len(payload))
}
