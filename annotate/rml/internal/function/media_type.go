package function

import "strings"

// mediaTypes are the media types of files (IANA, Media Types) by the ends of
// their names. The media types of the operating system are not used, so that a
// mapping gives the same result everywhere.
var mediaTypes = map[string]string{
	// RDF and other data
	"ttl": "text/turtle", "nt": "application/n-triples", "nq": "application/n-quads", "trig": "application/trig",
	"rdf": "application/rdf+xml", "owl": "application/rdf+xml", "jsonld": "application/ld+json", "n3": "text/n3",
	"json": "application/json", "geojson": "application/geo+json", "yaml": "application/yaml", "yml": "application/yaml",
	"xml": "text/xml", "xsl": "application/xml", "xsd": "application/xml", "csv": "text/csv", "tsv": "text/tab-separated-values",
	"sql": "application/sql", "rq": "application/sparql-query", "parquet": "application/vnd.apache.parquet",
	// text and the web
	"txt": "text/plain", "html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml", "css": "text/css",
	"js": "text/javascript", "mjs": "text/javascript", "md": "text/markdown", "rtf": "application/rtf", "ics": "text/calendar",
	"vcf": "text/vcard", "wasm": "application/wasm", "eml": "message/rfc822",
	// documents
	"pdf": "application/pdf", "ps": "application/postscript", "eps": "application/postscript", "epub": "application/epub+zip",
	"doc": "application/msword", "xls": "application/vnd.ms-excel", "ppt": "application/vnd.ms-powerpoint",
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"odt":  "application/vnd.oasis.opendocument.text", "ods": "application/vnd.oasis.opendocument.spreadsheet",
	"odp": "application/vnd.oasis.opendocument.presentation", "odg": "application/vnd.oasis.opendocument.graphics",
	// archives and programs
	"zip": "application/zip", "gz": "application/gzip", "tar": "application/x-tar", "7z": "application/x-7z-compressed",
	"rar": "application/vnd.rar", "zst": "application/zstd", "bin": "application/octet-stream", "exe": "application/octet-stream",
	// pictures, sound and films
	"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "svg": "image/svg+xml", "webp": "image/webp",
	"avif": "image/avif", "heic": "image/heic", "bmp": "image/bmp", "tif": "image/tiff", "tiff": "image/tiff",
	"ico": "image/vnd.microsoft.icon",
	"mp3": "audio/mpeg", "wav": "audio/x-wav", "ogg": "audio/ogg", "oga": "audio/ogg", "flac": "audio/flac",
	"aac": "audio/aac", "m4a": "audio/mp4",
	"mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg", "webm": "video/webm", "avi": "video/x-msvideo", "mov": "video/quicktime",
	"woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf",
}

// guessMediaType returns the media type of a file by its name, or an empty string.
func guessMediaType(name string) string {
	return mediaTypes[strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])]
}
