package modelrepo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/modelrepo/oci"
)

// ArtifactType is the kind of the artifacts that an export writes: each is a
// version of a model, or a model without versions.
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

// record is what a manifest says about a version, or about a model if the
// path's version is empty.
type record struct {
	at            Path
	latestVersion string // of the model
	defaultFormat string
	metadata      Metadata // of the version
	formats       []entry  // in the order of their tags
}

// mediaTypes are the names that a descriptor may have, by RFC 6838 section 4.2.
var mediaTypes = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$`)

// pack makes the manifest and its descriptor for the index. Equal records have
// equal manifests.
func (r record) pack() (oci.Descriptor, []byte, error) {
	m := oci.Manifest{
		SchemaVersion: 2, MediaType: oci.MediaTypeManifest, ArtifactType: ArtifactType, Config: oci.Empty(),
		Annotations: map[string]string{annotationNamespace: r.at.Namespace, annotationModel: r.at.Model},
	}
	for name, value := range map[string]string{
		annotationVersion: r.at.Version, oci.AnnotationVersion: r.at.Version,
		annotationLatest: r.latestVersion, annotationDefaultFormat: r.defaultFormat,
	} {
		if value != "" {
			m.Annotations[name] = value
		}
	}
	if len(r.metadata) > 0 {
		text, err := json.Marshal(r.metadata)
		if err != nil {
			return oci.Descriptor{}, nil, err
		}
		m.Annotations[annotationMetadata] = string(text)
	}
	for _, e := range r.formats {
		m.Layers = append(m.Layers, e.layer())
	}
	if len(m.Layers) == 0 {
		m.Layers = []oci.Descriptor{oci.Empty()} // registries want one
	}
	data, err := json.Marshal(m)
	if err != nil {
		return oci.Descriptor{}, nil, err
	}
	if len(data) > oci.MaxManifest {
		return oci.Descriptor{}, nil, fmt.Errorf("%w: its manifest has %d bytes, the most is %d", ErrInvalid, len(data), oci.MaxManifest)
	}
	return oci.Descriptor{
		MediaType: oci.MediaTypeManifest, ArtifactType: ArtifactType, Digest: oci.Digest(data), Size: int64(len(data)),
		Annotations: map[string]string{oci.AnnotationRefName: r.reference()},
	}, data, nil
}

// reference is the name of the artifact in the layout.
func (r record) reference() string {
	model := r.at.Namespace + "/" + r.at.Model
	if r.at.Version == "" {
		return model
	}
	return model + ":" + r.at.Version
}

// layer describes the content. Its title, which tools take for the name of a
// file, has no slash.
func (e entry) layer() oci.Descriptor {
	d := oci.Descriptor{
		MediaType: e.ContentType, Digest: "sha256:" + e.SHA256, Size: e.Size,
		Annotations: map[string]string{oci.AnnotationTitle: url.PathEscape(e.Format), annotationFormat: e.Format},
	}
	if mediaTypes.MatchString(d.MediaType) {
		return d
	}
	d.Annotations[annotationContentType] = e.ContentType
	mediaType, _, err := mime.ParseMediaType(e.ContentType) // without parameters
	if err != nil || !mediaTypes.MatchString(mediaType) {
		mediaType = orBytes("")
	}
	d.MediaType = mediaType
	return d
}

// unpack reads a manifest of ours. The error matches ErrInvalid.
func unpack(m oci.Manifest) (record, error) {
	r := record{
		at:            Path{Namespace: m.Annotations[annotationNamespace], Model: m.Annotations[annotationModel], Version: m.Annotations[annotationVersion]},
		latestVersion: m.Annotations[annotationLatest],
		defaultFormat: m.Annotations[annotationDefaultFormat],
	}
	depth := 3
	if r.at.Version == "" {
		depth = 2
	}
	const op = "import"
	if !r.at.valid(depth) || r.at.Version == Latest {
		return record{}, refuse(op, r.at, ErrInvalid, "The layout names a model version that breaks the rules for names.")
	}
	if err := (ModelUpdate{LatestVersion: r.latestVersion}).check(op, r.at, true); err != nil {
		return record{}, err
	}
	if err := (VersionUpdate{DefaultFormat: r.defaultFormat}).check(op, r.at, true); err != nil {
		return record{}, err
	}
	if text, found := m.Annotations[annotationMetadata]; found {
		if err := json.Unmarshal([]byte(text), &r.metadata); err != nil {
			return record{}, refuse(op, r.at, ErrInvalid, "The layout has metadata that are no JSON object of strings.")
		}
	}
	for _, layer := range m.Layers {
		if layer.MediaType == oci.MediaTypeEmpty && layer.Annotations[annotationFormat] == "" {
			continue
		}
		e := entry{
			Format: layer.Annotations[annotationFormat], SHA256: strings.TrimPrefix(layer.Digest, "sha256:"), Size: layer.Size,
			ContentType: cmp.Or(layer.Annotations[annotationContentType], orBytes(layer.MediaType)),
		}
		switch {
		case !ValidFormat(e.Format) || depth < 3:
			return record{}, refuse(op, r.at, ErrInvalid, "The layout has a layer without a valid format tag.")
		case slices.ContainsFunc(r.formats, func(other entry) bool { return other.Format == e.Format }):
			return record{}, refuse(op, r.at, ErrInvalid, "The layout has the format '%s' twice.", e.Format)
		case len(e.ContentType) > 1024 || strings.ContainsFunc(e.ContentType, func(c rune) bool { return c < ' ' || c > '~' }):
			return record{}, refuse(op, r.at, ErrInvalid, "The layout has a content type that no header can carry.")
		}
		r.formats = append(r.formats, e)
	}
	r.sort()
	return r, nil
}

func (r *record) sort() {
	slices.SortFunc(r.formats, func(a, b entry) int { return cmp.Compare(a.Format, b.Format) })
}

// equal reports whether a version has the record's default format,
// metadata and content.
func (r record) equal(n node) bool {
	same := maps.EqualFunc(n.Metadata, r.metadata, slices.Equal[Values])
	if !same || n.DefaultFormat != r.defaultFormat || len(n.Formats) != len(r.formats) {
		return false
	}
	return !slices.ContainsFunc(r.formats, func(e entry) bool {
		i := n.entryAt(e.Format)
		return i < 0 || n.Formats[i].SHA256 != e.SHA256 || n.Formats[i].ContentType != e.ContentType
	})
}
