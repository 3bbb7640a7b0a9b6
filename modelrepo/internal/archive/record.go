package archive

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/modelrepo/oci"
)

// ArtifactType is the type of the artifacts: each is a version of a model, or a model
// without versions.
const ArtifactType = "application/vnd.iotenablers.model.v1"

// The annotations of a manifest, and of a layer. They are a stored format.
const (
	annotationPrefix        = "io.github.iotenablers.modelrepo."
	annotationNamespace     = annotationPrefix + "namespace"
	annotationModel         = annotationPrefix + "model"
	annotationVersion       = annotationPrefix + "version"
	annotationLatest        = annotationPrefix + "latest-version"
	annotationDefaultFormat = annotationPrefix + "default-format"
	annotationMetadata      = annotationPrefix + "metadata"
	annotationFormat        = annotationPrefix + "format"
	annotationContentType   = annotationPrefix + "content-type"
)

// defaultMediaType is the media type of content without a valid one.
const defaultMediaType = "application/octet-stream"

// ErrManifest is returned for a record whose manifest would be too large.
var ErrManifest = errors.New("archive: manifest too large")

// Record is what a manifest says about a version, or about a model if Version is
// empty. Names are not checked.
type Record struct {
	Namespace, Model, Version string
	// LatestVersion is of the model.
	LatestVersion string
	DefaultFormat string
	// Metadata is the metadata of the version in JSON; empty for none.
	Metadata string
	// Layers are in the order of their formats.
	Layers []Layer
}

// Layer is the content of a version in one format.
type Layer struct {
	Format, SHA256, ContentType string
	Size                        int64
	// Blob is the key of the bytes in storage; only of an export.
	Blob string
}

// Digest returns the digest of the layer as a layout has it.
func (l Layer) Digest() string { return "sha256:" + l.SHA256 }

// mediaTypes matches the media types of a descriptor, by RFC 6838 section 4.2.
var mediaTypes = regexp.MustCompile(
	`^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$`)

// pack returns the manifest and its descriptor for the index. Equal records have equal
// manifests.
func (r Record) pack() (oci.Descriptor, []byte, error) {
	m := oci.Manifest{
		SchemaVersion: 2, MediaType: oci.MediaTypeManifest, ArtifactType: ArtifactType, Config: oci.Empty(),
		Annotations: map[string]string{annotationNamespace: r.Namespace, annotationModel: r.Model},
	}
	for name, value := range map[string]string{
		annotationVersion: r.Version, oci.AnnotationVersion: r.Version,
		annotationLatest: r.LatestVersion, annotationDefaultFormat: r.DefaultFormat, annotationMetadata: r.Metadata,
	} {
		if value != "" {
			m.Annotations[name] = value
		}
	}
	for _, l := range r.Layers {
		m.Layers = append(m.Layers, l.descriptor())
	}
	if len(m.Layers) == 0 {
		m.Layers = []oci.Descriptor{oci.Empty()} // registries require a layer
	}
	data, err := json.Marshal(m)
	if err != nil {
		return oci.Descriptor{}, nil, err
	}
	if len(data) > oci.MaxManifest {
		return oci.Descriptor{}, nil, fmt.Errorf("%w: it has %d bytes, the most is %d", ErrManifest, len(data),
			oci.MaxManifest)
	}
	return oci.Descriptor{
		MediaType: oci.MediaTypeManifest, ArtifactType: ArtifactType, Digest: oci.Digest(data), Size: int64(len(data)),
		Annotations: map[string]string{oci.AnnotationRefName: r.reference()},
	}, data, nil
}

// reference returns the name of the artifact in the layout.
func (r Record) reference() string {
	model := r.Namespace + "/" + r.Model
	if r.Version == "" {
		return model
	}
	return model + ":" + r.Version
}

// descriptor describes the layer. Its title, which tools use as a file name, has no
// slash.
func (l Layer) descriptor() oci.Descriptor {
	d := oci.Descriptor{
		MediaType: l.ContentType, Digest: l.Digest(), Size: l.Size,
		Annotations: map[string]string{oci.AnnotationTitle: url.PathEscape(l.Format), annotationFormat: l.Format},
	}
	if mediaTypes.MatchString(d.MediaType) {
		return d
	}
	d.Annotations[annotationContentType] = l.ContentType
	mediaType, _, err := mime.ParseMediaType(l.ContentType) // without parameters
	if err != nil || !mediaTypes.MatchString(mediaType) {
		mediaType = defaultMediaType
	}
	d.MediaType = mediaType
	return d
}

// unpack reads a manifest of [ArtifactType].
func unpack(m oci.Manifest) Record {
	r := Record{
		Namespace: m.Annotations[annotationNamespace], Model: m.Annotations[annotationModel],
		Version:       m.Annotations[annotationVersion],
		LatestVersion: m.Annotations[annotationLatest],
		DefaultFormat: m.Annotations[annotationDefaultFormat],
		Metadata:      m.Annotations[annotationMetadata],
	}
	for _, d := range m.Layers {
		if d.MediaType == oci.MediaTypeEmpty && d.Annotations[annotationFormat] == "" {
			continue
		}
		r.Layers = append(r.Layers, Layer{
			Format: d.Annotations[annotationFormat], SHA256: strings.TrimPrefix(d.Digest, "sha256:"), Size: d.Size,
			ContentType: cmp.Or(d.Annotations[annotationContentType], d.MediaType, defaultMediaType),
		})
	}
	r.sort()
	return r
}

func (r *Record) sort() {
	slices.SortStableFunc(r.Layers, func(a, b Layer) int { return cmp.Compare(a.Format, b.Format) })
}
