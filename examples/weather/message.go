package weather

import "time"

// quantity is one reported value under the name it has in a message.
type quantity struct{ name, value string }

// quantities lists the quantities of o in the order they have in a message.
func (o Observation) quantities() [9]quantity {
	return [9]quantity{
		{"temp", o.Temperature},
		{"dewp", o.DewPoint},
		{"humid", o.Humidity},
		{"wind_dir", o.WindDirection},
		{"wind_speed", o.WindSpeed},
		{"wind_gust", o.WindGust},
		{"precip", o.Precipitation},
		{"pressure", o.Pressure},
		{"visib", o.Visibility},
	}
}

// AppendJSON appends o as a JSON object to dst and returns the longer slice.
// Quantities are JSON numbers; one that was not reported is left out.
func AppendJSON(dst []byte, o Observation) []byte {
	dst = append(dst, `{"station":"`...)
	dst = append(dst, o.Station...)
	dst = append(dst, `","time":"`...)
	dst = o.Time.AppendFormat(dst, time.RFC3339)
	dst = append(dst, '"')
	for _, q := range o.quantities() {
		if q.value == "" {
			continue
		}
		dst = append(dst, `,"`...)
		dst = append(dst, q.name...)
		dst = append(dst, `":`...)
		dst = append(dst, q.value...)
	}
	return append(dst, '}')
}

// AppendCSV appends o as a CSV document of a header and one row to dst and
// returns the longer slice. Lines end in CRLF as RFC 4180 has it. The cell of a
// quantity that was not reported is empty.
func AppendCSV(dst []byte, o Observation) []byte {
	dst = append(dst, "station,time"...)
	quantities := o.quantities()
	for _, q := range quantities {
		dst = append(dst, ',')
		dst = append(dst, q.name...)
	}
	dst = append(dst, "\r\n"...)
	dst = append(dst, o.Station...)
	dst = append(dst, ',')
	dst = o.Time.AppendFormat(dst, time.RFC3339)
	for _, q := range quantities {
		dst = append(dst, ',')
		dst = append(dst, q.value...)
	}
	return append(dst, "\r\n"...)
}

// AppendXML appends o as an XML document to dst and returns the longer slice.
// Station and time are attributes of the root, quantities its children; one
// that was not reported is left out.
func AppendXML(dst []byte, o Observation) []byte {
	dst = append(dst, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<observation station="`...)
	dst = append(dst, o.Station...)
	dst = append(dst, `" time="`...)
	dst = o.Time.AppendFormat(dst, time.RFC3339)
	dst = append(dst, `">`...)
	for _, q := range o.quantities() {
		if q.value == "" {
			continue
		}
		dst = append(dst, '<')
		dst = append(dst, q.name...)
		dst = append(dst, '>')
		dst = append(dst, q.value...)
		dst = append(dst, "</"...)
		dst = append(dst, q.name...)
		dst = append(dst, '>')
	}
	return append(dst, "</observation>"...)
}
