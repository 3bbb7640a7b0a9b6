// Package weather is a small real data set for demonstrations and tests:
// 10,000 hourly observations of three airport weather stations in 2013.
//
// # Messages
//
// [AppendJSON], [AppendCSV] and [AppendXML] render an observation as a device
// of that format would send it. A quantity that the station did not report is
// left out of the JSON and XML message; in the CSV message its cell is empty.
//
// # Mappings
//
// [JSONMapping], [CSVMapping] and [XMLMapping] are mappings in the CARML
// dialect, one a format, that turn those messages into RDF in the terms of
// SOSA, the W3C vocabulary for sensors and observations. The three make the
// same graph of the same observation. [Expected] returns it, and shares
// nothing with a mapping engine, so a test can compare the two.
//
// # Source
//
// The observations come from the ASOS network of the United States and are in
// the public domain. ATTRIBUTION.md in this folder has their source.
package weather
