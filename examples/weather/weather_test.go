package weather_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/examples/weather"
)

// all decodes the whole data set.
func all(t *testing.T) []weather.Observation {
	t.Helper()
	var list []weather.Observation
	for o, err := range weather.Observations() {
		require.NoError(t, err)
		list = append(list, o)
	}
	return list
}

// fields returns the reported quantities of o under their names in a message.
func fields(o weather.Observation) map[string]string {
	named := map[string]string{
		"station": o.Station, "time": o.Time.Format(time.RFC3339),
		"temp": o.Temperature, "dewp": o.DewPoint, "humid": o.Humidity,
		"wind_dir": o.WindDirection, "wind_speed": o.WindSpeed, "wind_gust": o.WindGust,
		"precip": o.Precipitation, "pressure": o.Pressure, "visib": o.Visibility,
	}
	for name, value := range named {
		if value == "" {
			delete(named, name)
		}
	}
	return named
}

func TestObservations_areCompleteOrderedAndUnique(t *testing.T) {
	list := all(t)
	require.Len(t, list, weather.Count)

	stations := map[string]int{}
	seen := map[string]bool{}
	gusts := 0
	for i, o := range list {
		stations[o.Station]++
		if o.WindGust != "" {
			gusts++
		}
		key := o.Time.Format(time.RFC3339) + o.Station
		require.False(t, seen[key], "observation %d repeats %s", i, key)
		seen[key] = true
		require.Equal(t, time.UTC, o.Time.Location())
		if i > 0 {
			previous := list[i-1]
			require.Less(t, previous.Time.Format(time.RFC3339)+previous.Station, key, "observation %d is out of order", i)
		}
	}
	require.Equal(t, map[string]int{"EWR": 3334, "JFK": 3333, "LGA": 3333}, stations)
	require.Equal(t, weather.Count-7322, gusts, "7,322 rows of the source have no gust")
}

func TestObservations_beginAndEndAsTheSource(t *testing.T) {
	list := all(t)
	require.Equal(t, weather.Observation{
		Station: "EWR", Time: time.Date(2013, 1, 1, 6, 0, 0, 0, time.UTC),
		Temperature: "39.02", DewPoint: "26.06", Humidity: "59.37", WindDirection: "270",
		WindSpeed: "10.357019999999999", Precipitation: "0", Pressure: "1012", Visibility: "10",
	}, list[0])
	require.Equal(t, weather.Observation{
		Station: "EWR", Time: time.Date(2013, 5, 20, 7, 0, 0, 0, time.UTC),
		Temperature: "59", DewPoint: "57.92", Humidity: "96.2", WindDirection: "30",
		WindSpeed: "3.4523399999999995", Precipitation: "0", Pressure: "1019.3", Visibility: "0.5",
	}, list[len(list)-1])
}

func TestObservations_quantitiesAreDecimals(t *testing.T) {
	decimal := regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`) // also valid as a JSON number: no leading zeros occur
	for _, o := range all(t) {
		for name, value := range fields(o) {
			if name != "station" && name != "time" {
				if !decimal.MatchString(value) {
					t.Fatalf("%s of %s at %s is %q, not a decimal number", name, o.Station, o.Time, value)
				}
			}
		}
	}
}

func TestObservations_canBeLeftAndStartedAgain(t *testing.T) {
	first := func() weather.Observation {
		for o, err := range weather.Observations() {
			require.NoError(t, err)
			return o
		}
		return weather.Observation{}
	}
	require.NotZero(t, first())
	require.Equal(t, first(), first())
}

func TestAppendJSON_holdsTheReportedQuantities(t *testing.T) {
	for _, o := range all(t) {
		var got map[string]any
		decoder := json.NewDecoder(bytes.NewReader(weather.AppendJSON(nil, o)))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&got))
		want := map[string]any{}
		for name, value := range fields(o) {
			if name == "station" || name == "time" {
				want[name] = value
			} else {
				want[name] = json.Number(value)
			}
		}
		require.Equal(t, want, got)
	}
}

func TestAppendCSV_holdsTheReportedQuantities(t *testing.T) {
	for _, o := range all(t) {
		rows, err := csv.NewReader(bytes.NewReader(weather.AppendCSV(nil, o))).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, 2)
		require.Len(t, rows[0], 11, "the columns are the same for every observation")
		got := map[string]string{}
		for column, name := range rows[0] {
			if rows[1][column] != "" {
				got[name] = rows[1][column]
			}
		}
		require.Equal(t, fields(o), got)
	}
}

func TestAppendXML_holdsTheReportedQuantities(t *testing.T) {
	type document struct {
		XMLName    xml.Name   `xml:"observation"`
		Attributes []xml.Attr `xml:",any,attr"`
		Children   []struct {
			XMLName xml.Name
			Text    string `xml:",chardata"`
		} `xml:",any"`
	}
	for _, o := range all(t) {
		var d document
		require.NoError(t, xml.Unmarshal(weather.AppendXML(nil, o), &d))
		got := map[string]string{}
		for _, a := range d.Attributes {
			got[a.Name.Local] = a.Value
		}
		for _, c := range d.Children {
			got[c.XMLName.Local] = c.Text
		}
		require.Equal(t, fields(o), got)
	}
}

func TestAppendJSON_keepsTheBuffersContent(t *testing.T) {
	o := all(t)[0]
	for name, render := range map[string]func([]byte, weather.Observation) []byte{
		"JSON": weather.AppendJSON, "CSV": weather.AppendCSV, "XML": weather.AppendXML,
	} {
		alone := string(render(nil, o))
		require.Equal(t, "before "+alone, string(render([]byte("before "), o)), name)
	}
}

func TestExpected_hasAStatementForEachQuantityAndFourMore(t *testing.T) {
	subjects := map[rdf.Term]bool{}
	for _, o := range all(t) {
		graph := weather.Expected(o)
		require.Len(t, graph, len(fields(o))-2+4)
		seen := map[rdf.Quad]bool{}
		for _, q := range graph {
			if !q.Graph.IsZero() || q.Subject != graph[0].Subject {
				t.Fatalf("not a statement on the observation in the default graph: %v", q)
			}
			if seen[q] {
				t.Fatalf("statement twice: %v", q)
			}
			seen[q] = true
		}
		subjects[graph[0].Subject] = true
	}
	require.Len(t, subjects, weather.Count, "every observation has its own subject")
}

func TestExpected_firstObservation(t *testing.T) {
	var lines strings.Builder
	for _, q := range weather.Expected(all(t)[0]) {
		lines.WriteString(strings.Join([]string{q.Subject.Value, q.Predicate.Value, q.Object.Value,
			q.Object.Datatype}, " ") + "\n")
	}
	const decimal = " http://www.w3.org/2001/XMLSchema#decimal\n"
	const s = "http://example.org/obs/EWR/2013-01-01T06%3A00%3A00Z "
	require.Equal(t, s+"http://www.w3.org/1999/02/22-rdf-syntax-ns#type http://www.w3.org/ns/sosa/Observation \n"+
		s+"http://www.w3.org/ns/sosa/resultTime 2013-01-01T06:00:00Z http://www.w3.org/2001/XMLSchema#dateTime\n"+
		s+"http://www.w3.org/ns/sosa/madeBySensor http://example.org/sensor/EWR \n"+
		s+"http://www.w3.org/ns/sosa/hasFeatureOfInterest http://example.org/airport/EWR \n"+
		s+"http://example.org/weather#temperature 39.02"+decimal+
		s+"http://example.org/weather#dewPoint 26.06"+decimal+
		s+"http://example.org/weather#humidity 59.37"+decimal+
		s+"http://example.org/weather#windDirection 270"+decimal+
		s+"http://example.org/weather#windSpeed 10.357019999999999"+decimal+
		s+"http://example.org/weather#precipitation 0"+decimal+
		s+"http://example.org/weather#pressure 1012"+decimal+
		s+"http://example.org/weather#visibility 10"+decimal, lines.String())
}

func TestMappings_differOnlyInTheirReferences(t *testing.T) {
	mappings := map[string]string{"JSON": weather.JSONMapping(), "CSV": weather.CSVMapping(), "XML": weather.XMLMapping()}
	for name, mapping := range mappings {
		require.Equal(t, 1, strings.Count(mapping, "a carml:Stream"), name)
		require.NotContains(t, mapping, "streamName", name)
		for _, prefix := range []string{"rr:", "rml:", "ql:", "carml:", "map:"} {
			require.Contains(t, mapping, "@prefix "+prefix+" <", name)
		}
	}
	likeXML := strings.NewReplacer("{station}", "{@station}", "{time}", "{@time}", `"time"`, `"@time"`,
		`rml:iterator "$"`, `rml:iterator "/observation"`, "ql:JSONPath", "ql:XPath", "in JSON", "in XML")
	require.Equal(t, mappings["XML"], likeXML.Replace(mappings["JSON"]))
	likeCSV := strings.NewReplacer(" ;\n        rml:iterator \"$\"", "", "ql:JSONPath", "ql:CSV", "in JSON", "in CSV")
	require.Equal(t, mappings["CSV"], likeCSV.Replace(mappings["JSON"]))
}

func TestChannelFile_hasTheJSONMapping(t *testing.T) {
	text, err := os.ReadFile("channel.json")
	require.NoError(t, err)
	var channel struct {
		Metadata struct {
			Mapping struct {
				InputFormat string `json:"inputFormat"`
				RML         string `json:"rml"`
			} `json:"mapping"`
		} `json:"metadata"`
	}
	require.NoError(t, json.Unmarshal(text, &channel))
	require.Equal(t, "JSON", channel.Metadata.Mapping.InputFormat)
	require.Equal(t, weather.JSONMapping(), channel.Metadata.Mapping.RML)
}
