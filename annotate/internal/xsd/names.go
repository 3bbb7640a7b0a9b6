package xsd

import "strings"

// Names returns the local names of the datatypes of XML Schema in RDF 1.1.
func Names() []string {
	return strings.Fields(`string boolean decimal integer double float date time dateTime dateTimeStamp gYear gMonth gDay
		gYearMonth gMonthDay duration yearMonthDuration dayTimeDuration byte short int long unsignedByte unsignedShort
		unsignedInt unsignedLong positiveInteger nonNegativeInteger negativeInteger nonPositiveInteger hexBinary
		base64Binary anyURI language normalizedString token NMTOKEN Name NCName`)
}
