package weather

import _ "embed"

//go:embed json.ttl
var jsonMapping string

//go:embed csv.ttl
var csvMapping string

//go:embed xml.ttl
var xmlMapping string

// JSONMapping returns the mapping for the messages of [AppendJSON], in Turtle.
func JSONMapping() string { return jsonMapping }

// CSVMapping returns the mapping for the messages of [AppendCSV], in Turtle.
func CSVMapping() string { return csvMapping }

// XMLMapping returns the mapping for the messages of [AppendXML], in Turtle.
func XMLMapping() string { return xmlMapping }
