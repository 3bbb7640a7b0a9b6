package page

// ReadMetadata and MetadataText are the form of metadata that people edit.
var (
	ReadMetadata = readMetadata
	MetadataText = metadataText
)
