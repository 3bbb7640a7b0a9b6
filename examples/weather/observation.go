package weather

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
)

// Count is the number of observations in the data set.
const Count = 10_000

// notReported is how the data set spells a quantity that is not there.
const notReported = "NA"

//go:embed observations.csv.gz
var compressed []byte

// Observation is what one station reported for one hour. The quantities are
// decimal numbers as text, so that a rendering has the digits of the source;
// an empty one was not reported.
type Observation struct {
	// Station is the airport code of the station: EWR, JFK or LGA.
	Station string
	// Time is the hour of the observation, in UTC.
	Time time.Time
	// Temperature is the air temperature in degrees Fahrenheit.
	Temperature string
	// DewPoint is the dew point in degrees Fahrenheit.
	DewPoint string
	// Humidity is the relative humidity in percent.
	Humidity string
	// WindDirection is where the wind comes from, in degrees from north.
	WindDirection string
	// WindSpeed is in miles an hour.
	WindSpeed string
	// WindGust is the gust speed in miles an hour. Calm hours have none.
	WindGust string
	// Precipitation is the amount fallen in the hour, in inches.
	Precipitation string
	// Pressure is the pressure at sea level in millibars.
	Pressure string
	// Visibility is in miles.
	Visibility string
}

// Observations yields the [Count] observations by time and then by station.
// They are decompressed and decoded while the loop runs. The first error, which
// only a damaged build can cause, ends the sequence. Every call starts anew;
// the sequences are independent of each other.
func Observations() iter.Seq2[Observation, error] {
	return decode(bytes.NewReader(compressed))
}

// decode reads the gzip'd table of the data set.
func decode(r io.Reader) iter.Seq2[Observation, error] {
	return func(yield func(Observation, error) bool) {
		plain, err := gzip.NewReader(r)
		if err != nil {
			yield(Observation{}, fmt.Errorf("open observations: %w", err))
			return
		}
		rows := csv.NewReader(plain)
		rows.ReuseRecord = true
		if _, err := rows.Read(); err != nil {
			yield(Observation{}, fmt.Errorf("read header of observations: %w", err))
			return
		}
		for {
			row, err := rows.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			var o Observation
			if err == nil {
				o, err = parse(row)
			}
			if err != nil {
				line, _ := rows.FieldPos(0)
				yield(Observation{}, fmt.Errorf("read observation at line %d: %w", line, err))
				return
			}
			if !yield(o, nil) {
				return
			}
		}
	}
}

// parse returns the observation in one row. The row's memory is not kept.
func parse(row []string) (Observation, error) {
	if len(row) != 11 {
		return Observation{}, fmt.Errorf("%d columns, want 11", len(row))
	}
	at, err := time.Parse(time.RFC3339, row[1])
	if err != nil {
		return Observation{}, err
	}
	quantity := func(column int) string {
		if row[column] == notReported {
			return ""
		}
		return strings.Clone(row[column])
	}
	return Observation{
		Station:       strings.Clone(row[0]),
		Time:          at,
		Temperature:   quantity(2),
		DewPoint:      quantity(3),
		Humidity:      quantity(4),
		WindDirection: quantity(5),
		WindSpeed:     quantity(6),
		WindGust:      quantity(7),
		Precipitation: quantity(8),
		Pressure:      quantity(9),
		Visibility:    quantity(10),
	}, nil
}
