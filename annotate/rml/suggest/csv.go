package suggest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
)

// readCSV returns the table of the rows: the first one has the names.
func readCSV(sample []byte) ([]table, error) {
	rows := csv.NewReader(bytes.NewReader(sample))
	names, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, ErrEmpty
	}
	if err != nil {
		return nil, err
	}
	t := table{name: "row"}
	for row := 0; ; row++ {
		values, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, value := range values {
			if names[i] != "" {
				t.add(names[i], names[i], classify(value, false))
			}
		}
	}
	return []table{t}, nil
}
