package main

func Example() {
	main()
	// Output:
	// @prefix sosa: <http://www.w3.org/ns/sosa/> .
	// @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
	// @prefix weather: <http://example.org/weather#> .
	//
	// <http://example.org/obs/EWR/2013-01-01T06%3a00%3a00Z> a sosa:Observation ;
	// 	sosa:resultTime "2013-01-01T06:00:00Z"^^xsd:dateTime ;
	// 	sosa:madeBySensor <http://example.org/sensor/EWR> ;
	// 	sosa:hasFeatureOfInterest <http://example.org/airport/EWR> ;
	// 	weather:temperature "39.02"^^xsd:decimal .
}
