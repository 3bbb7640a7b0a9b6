package oci

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The reasons for which a layout is refused. Match with [errors.Is].
var (
	// ErrInvalid is returned for bytes that are not an image layout, and for layouts
	// that are not supported.
	ErrInvalid = errors.New("oci: not a valid image layout")
	// ErrDigest is returned for a blob that does not have its digest or its size.
	ErrDigest = errors.New("oci: blob does not match its descriptor")
	// ErrIncomplete is returned for a layout that ends before it is complete.
	ErrIncomplete = errors.New("oci: incomplete image layout")
)

// Media types of image-spec 1.1 (media-types.md).
const (
	MediaTypeIndex    = "application/vnd.oci.image.index.v1+json"
	MediaTypeManifest = "application/vnd.oci.image.manifest.v1+json"
	MediaTypeEmpty    = "application/vnd.oci.empty.v1+json"
)

// Annotations of image-spec 1.1 (annotations.md).
const (
	AnnotationRefName = "org.opencontainers.image.ref.name"
	AnnotationTitle   = "org.opencontainers.image.title"
	AnnotationVersion = "org.opencontainers.image.version"
)

// The bounds of documents, in bytes.
const (
	// MaxIndex is the largest index.json that is read.
	MaxIndex = 64 << 20
	// MaxManifest is the largest manifest. Registries accept manifests of this size
	// too.
	MaxManifest = 4 << 20
)

// Descriptor refers to a blob (descriptor.md).
type Descriptor struct {
	// MediaType is the media type of the blob.
	MediaType string `json:"mediaType"`
	// Digest is "sha256:" and 64 lower-case hex digits.
	Digest string `json:"digest"`
	// Size is the length in bytes.
	Size int64 `json:"size"`
	// Annotations are further properties of the blob.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Data is the blob itself, for a small blob that is embedded.
	Data []byte `json:"data,omitempty"`
	// ArtifactType is the type of the artifact that a manifest describes.
	ArtifactType string `json:"artifactType,omitempty"`
}

// Manifest describes one artifact (manifest.md).
type Manifest struct {
	// SchemaVersion is 2.
	SchemaVersion int `json:"schemaVersion"`
	// MediaType is [MediaTypeManifest].
	MediaType string `json:"mediaType,omitempty"`
	// ArtifactType is the type of the artifact.
	ArtifactType string `json:"artifactType,omitempty"`
	// Config is the artifact's configuration, [Empty] if it has none.
	Config Descriptor `json:"config"`
	// Layers are the artifact's content, at least one.
	Layers []Descriptor `json:"layers"`
	// Annotations are further properties of the artifact.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Index lists manifests (image-index.md).
type Index struct {
	// SchemaVersion is 2.
	SchemaVersion int `json:"schemaVersion"`
	// MediaType is [MediaTypeIndex].
	MediaType string `json:"mediaType,omitempty"`
	// Manifests have no order. The annotation [AnnotationRefName] is the name of a
	// manifest in the layout.
	Manifests []Descriptor `json:"manifests"`
	// Annotations are further properties of the layout.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Digest returns the digest of bytes in the form of a descriptor.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return digestPrefix + hex.EncodeToString(sum[:])
}

const (
	digestPrefix = "sha256:"
	emptyBlob    = "{}"
)

// Empty describes the blob "{}", which replaces an absent configuration or layer.
func Empty() Descriptor {
	return Descriptor{MediaType: MediaTypeEmpty, Digest: Digest([]byte(emptyBlob)), Size: int64(len(emptyBlob)),
		Data: []byte(emptyBlob)}
}

// ParseIndex reads an index.json. The error matches [ErrInvalid].
func ParseIndex(data []byte) (Index, error) {
	var index Index
	if err := parse(data, &index, MaxIndex); err != nil {
		return Index{}, fmt.Errorf("read %s: %w", indexFile, err)
	}
	if index.SchemaVersion != 2 || index.MediaType != "" && index.MediaType != MediaTypeIndex {
		return Index{}, fmt.Errorf("read %s: %w: schema version %d, media type %.100q", indexFile, ErrInvalid,
			index.SchemaVersion, index.MediaType)
	}
	for _, d := range index.Manifests {
		if err := d.check(); err != nil {
			return Index{}, fmt.Errorf("read %s: %w", indexFile, err)
		}
	}
	return index, nil
}

// ParseManifest reads a manifest. The error matches [ErrInvalid].
func ParseManifest(data []byte) (Manifest, error) {
	var m Manifest
	if err := parse(data, &m, MaxManifest); err != nil {
		return Manifest{}, fmt.Errorf("read manifest: %w", err)
	}
	if m.SchemaVersion != 2 || m.MediaType != "" && m.MediaType != MediaTypeManifest {
		return Manifest{}, fmt.Errorf("read manifest: %w: schema version %d, media type %.100q", ErrInvalid, m.SchemaVersion,
			m.MediaType)
	}
	for _, d := range m.blobs() {
		if err := d.check(); err != nil {
			return Manifest{}, fmt.Errorf("read manifest: %w", err)
		}
	}
	return m, nil
}

// blobs returns the descriptors of all that the manifest refers to.
func (m Manifest) blobs() []Descriptor { return append([]Descriptor{m.Config}, m.Layers...) }

func parse(data []byte, to any, limit int) error {
	if len(data) > limit {
		return fmt.Errorf("%w: it has %d bytes, the most is %d", ErrInvalid, len(data), limit)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// check refuses a descriptor that no file of a layout can have.
func (d Descriptor) check() error {
	switch {
	case !validDigest(d.Digest):
		return fmt.Errorf("%w: digest %.100q: expected sha256: and 64 lower-case hex digits", ErrInvalid, d.Digest)
	case d.Size < 0:
		return fmt.Errorf("%w: digest %s: its size is %d", ErrInvalid, d.Digest, d.Size)
	}
	return nil
}

func validDigest(digest string) bool {
	text, found := strings.CutPrefix(digest, digestPrefix)
	return found && len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}
