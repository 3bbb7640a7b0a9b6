package modelrepo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
)

func TestNew_namesTheInvalidLimit(t *testing.T) {
	documents, blobs := openMemory(t)
	for name, limits := range map[string]modelrepo.Limits{
		"ModelsPerNamespace": {ModelsPerNamespace: -1},
		"VersionsPerModel":   {VersionsPerModel: -1},
		"ContentBytes":       {ContentBytes: -1},
		"NamespaceBytes":     {NamespaceBytes: -1},
		"MetadataBytes":      {MetadataBytes: modelrepo.MaxMetadataSize + 1},
	} {
		_, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs, Limits: limits})
		require.ErrorContains(t, err, "Config.Limits."+name)
	}
}
