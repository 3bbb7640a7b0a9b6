package weather

import (
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// The IRIs of the graph that the mappings generate.
const (
	sosa        = "http://www.w3.org/ns/sosa/"
	vocabulary  = "http://example.org/weather#"
	xsdDateTime = "http://www.w3.org/2001/XMLSchema#dateTime"
)

// Expected returns the graph of o: what each of the three mappings has to generate
// of its message, statement for statement. It is built by hand, without a
// mapping engine. The order is that of the mappings; it has no meaning.
func Expected(o Observation) []rdf.Quad {
	at := o.Time.Format(time.RFC3339)
	// A template keeps only the unreserved characters of RFC 3986 in a value;
	// the colon is the only other one that occurs here.
	subject := rdf.NewIRI("http://example.org/obs/" + o.Station + "/" + strings.ReplaceAll(at, ":", "%3A"))

	var graph []rdf.Quad
	say := func(predicate string, object rdf.Term) {
		graph = append(graph, rdf.Quad{Subject: subject, Predicate: rdf.NewIRI(predicate), Object: object})
	}
	measured := func(name, value string) {
		if value != "" {
			say(vocabulary+name, rdf.NewTyped(value, rdf.XSDDecimal))
		}
	}
	say(rdf.Type, rdf.NewIRI(sosa+"Observation"))
	say(sosa+"resultTime", rdf.NewTyped(at, xsdDateTime))
	say(sosa+"madeBySensor", rdf.NewIRI("http://example.org/sensor/"+o.Station))
	say(sosa+"hasFeatureOfInterest", rdf.NewIRI("http://example.org/airport/"+o.Station))
	measured("temperature", o.Temperature)
	measured("dewPoint", o.DewPoint)
	measured("humidity", o.Humidity)
	measured("windDirection", o.WindDirection)
	measured("windSpeed", o.WindSpeed)
	measured("windGust", o.WindGust)
	measured("precipitation", o.Precipitation)
	measured("pressure", o.Pressure)
	measured("visibility", o.Visibility)
	return graph
}
