// Package annotate turns JSON, CSV and XML messages into RDF, broker to broker.
package annotate
