package weather_test

import (
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/examples/weather"
)

func ExampleObservations() {
	for o, err := range weather.Observations() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(o.Station, o.Time, o.Temperature, "°F")
		break
	}
	// Output: EWR 2013-01-01 06:00:00 +0000 UTC 39.02 °F
}

func Example() {
	mapping, err := rml.Load([]byte(weather.JSONMapping()), nil) // or any CARML mapping of yours
	if err != nil {
		panic(err)
	}
	plan, err := rml.Compile(mapping, nil)
	if err != nil {
		panic(err)
	}
	mapper := plan.NewMapper() // one per goroutine
	out, err := mapper.Append(nil, []byte(`{"station":"EWR","time":"2013-01-01T06:00:00Z","temp":39.02}`))
	if err != nil {
		panic(err)
	}
	fmt.Print(strings.ReplaceAll(string(out), " <", "\n<"))
	// Output:
	// <http://example.org/obs/EWR/2013-01-01T06%3A00%3A00Z>
	// <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>
	// <http://www.w3.org/ns/sosa/Observation> .
	// <http://example.org/obs/EWR/2013-01-01T06%3A00%3A00Z>
	// <http://www.w3.org/ns/sosa/resultTime> "2013-01-01T06:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
	// <http://example.org/obs/EWR/2013-01-01T06%3A00%3A00Z>
	// <http://www.w3.org/ns/sosa/madeBySensor>
	// <http://example.org/sensor/EWR> .
	// <http://example.org/obs/EWR/2013-01-01T06%3A00%3A00Z>
	// <http://www.w3.org/ns/sosa/hasFeatureOfInterest>
	// <http://example.org/airport/EWR> .
	// <http://example.org/obs/EWR/2013-01-01T06%3A00%3A00Z>
	// <http://example.org/weather#temperature> "39.02"^^<http://www.w3.org/2001/XMLSchema#decimal> .
}

// first returns the first observation of the data set.
func first() weather.Observation {
	for o, err := range weather.Observations() {
		if err != nil {
			panic(err)
		}
		return o
	}
	panic("no observations")
}

func ExampleAppendJSON() {
	fmt.Println(strings.ReplaceAll(string(weather.AppendJSON(nil, first())), `,"wind_dir"`, ",\n\"wind_dir\""))
	// Output:
	// {"station":"EWR","time":"2013-01-01T06:00:00Z","temp":39.02,"dewp":26.06,"humid":59.37,
	// "wind_dir":270,"wind_speed":10.357019999999999,"precip":0,"pressure":1012,"visib":10}
}

func ExampleAppendXML() {
	fmt.Println(strings.ReplaceAll(string(weather.AppendXML(nil, first())), "><", ">\n<"))
	// Output:
	// <?xml version="1.0" encoding="UTF-8"?>
	// <observation station="EWR" time="2013-01-01T06:00:00Z">
	// <temp>39.02</temp>
	// <dewp>26.06</dewp>
	// <humid>59.37</humid>
	// <wind_dir>270</wind_dir>
	// <wind_speed>10.357019999999999</wind_speed>
	// <precip>0</precip>
	// <pressure>1012</pressure>
	// <visib>10</visib>
	// </observation>
}

func ExampleAppendCSV() {
	for line := range strings.Lines(string(weather.AppendCSV(nil, first()))) {
		fmt.Println(strings.TrimSuffix(line, "\r\n"))
	}
	// Output:
	// station,time,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib
	// EWR,2013-01-01T06:00:00Z,39.02,26.06,59.37,270,10.357019999999999,,0,1012,10
}
