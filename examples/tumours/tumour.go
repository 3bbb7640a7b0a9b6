package tumours

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Sizes of the data set.
const (
	Count     = 569 // tumours
	Malignant = 212 // of them
	Features  = 30  // measurements of each
)

//go:embed tumours.csv.gz
var compressed []byte

// Tumour is one row of the data set.
type Tumour struct {
	// Features are the measurements in the order of the columns, each less its
	// mean over all tumours and divided by its standard deviation. Parties agree
	// on such a scale before they train.
	Features [Features]float64
	// Malignant is the diagnosis.
	Malignant bool
}

// All returns the [Count] tumours in the order of the source. An error can
// only be caused by a damaged build.
func All() ([]Tumour, error) {
	all, err := decode(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	scale(all)
	return all, nil
}

// decode reads the gzip'd table of the data set, unscaled.
func decode(r io.Reader) ([]Tumour, error) {
	plain, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("open tumours: %w", err)
	}
	rows, err := csv.NewReader(plain).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read tumours: %w", err)
	}
	if len(rows) == 0 || len(rows[0]) != Features+1 {
		return nil, fmt.Errorf("read tumours: no header of %d columns", Features+1)
	}
	var all []Tumour
	for i, row := range rows[1:] {
		tumour, err := parse(row)
		if err != nil {
			return nil, fmt.Errorf("read tumour at line %d: %w", i+2, err)
		}
		all = append(all, tumour)
	}
	return all, nil
}

func parse(row []string) (Tumour, error) {
	var t Tumour
	for i := range t.Features {
		value, err := strconv.ParseFloat(row[i], 64)
		if err != nil {
			return t, err
		}
		t.Features[i] = value
	}
	switch diagnosis := row[Features]; diagnosis {
	case "M":
		t.Malignant = true
	case "B":
	default:
		return t, fmt.Errorf("diagnosis %q is neither M nor B", diagnosis)
	}
	return t, nil
}

// scale gives every feature the mean 0 and the standard deviation 1.
func scale(all []Tumour) {
	n := float64(len(all))
	for i := range Features {
		var sum, squares float64
		for _, t := range all {
			sum += t.Features[i]
		}
		mean := sum / n
		for _, t := range all {
			squares += (t.Features[i] - mean) * (t.Features[i] - mean)
		}
		deviation := math.Sqrt(squares / n)
		for k := range all {
			all[k].Features[i] = (all[k].Features[i] - mean) / deviation
		}
	}
}
