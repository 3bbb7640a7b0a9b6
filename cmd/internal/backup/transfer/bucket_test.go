package transfer_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage/s3"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

func TestBackup_toABucketAndBack(t *testing.T) {
	minio := s3test.StartMinIO(t)
	bucket := minio.Bucket(t)
	above := t.TempDir()
	dir := newData(t, filepath.Join(above, "data"))
	where := func(prefix string) string {
		return "s3://" + s3test.AccessKey + ":" + s3test.SecretKey + "@" + minio.Address() + "/" + bucket + "/" + prefix +
			"?insecure=true&create-bucket=true"
	}
	blobs := func(prefix string) *s3.Store {
		config, err := s3.ParseURL(where(prefix))
		require.NoError(t, err)
		store, err := s3.Open(t.Context(), config)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return store
	}
	serve(t, dir, openData(t, dir))
	require.NoError(t, takeBackup(t, dir, where("monday")))
	again := filepath.Join(above, "again")
	require.NoError(t, restore(t, again, where("monday")))
	checkData(t, again)

	err := takeBackup(t, dir, where("monday"))
	require.ErrorContains(t, err, "there is a backup of ")
	require.NotContains(t, err.Error(), s3test.SecretKey)
	refused(t, where("tuesday"), "it has no backup.json")

	// What a backup that was killed leaves, and what damage looks like.
	require.NoError(t, blobs("monday").Blobs().Delete(t.Context(), "encryption-secret"))
	refused(t, where("monday"), `file "encryption-secret" is missing`)
	require.NoError(t, blobs("monday").Blobs().Delete(t.Context(), "backup.json"))
	refused(t, where("monday"), "it has no backup.json")
	require.ErrorContains(t, takeBackup(t, dir, where("monday")), "give another prefix, or remove all objects")

	// A backup that fails leaves nothing that looks like one.
	damaged, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
	require.NoError(t, err)
	flip(t, damaged[0], 0)
	require.Error(t, takeBackup(t, dir, where("wednesday")))
	for info, err := range blobs("wednesday").Blobs().List(t.Context(), "") {
		require.NoError(t, err)
		require.Fail(t, "left", info.Key)
	}
}
