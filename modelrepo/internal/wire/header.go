package wire

// The resumable upload protocol tus 1.0.0 with the extensions creation, expiration,
// checksum and termination.
const (
	TusVersion    = "1.0.0"
	TusExtensions = "creation,expiration,checksum,termination"
	// PieceMediaType is the media type of a piece.
	PieceMediaType = "application/offset+octet-stream"
	// StatusChecksum is the status for bytes that do not have the checksum.
	StatusChecksum = 460
)

// TarMediaType is the media type of an archive of an image layout.
const TarMediaType = "application/x-tar"

// MaxBody is the size of the largest JSON body without metadata, in bytes.
const MaxBody = 1 << 20

// The values of the order parameter of a list.
const Ascending, Descending = "ascending", "descending"
