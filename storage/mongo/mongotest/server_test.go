package mongotest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

// databases returns the names of the databases of a server that no other test uses.
func databases(t *testing.T, server *mongotest.Server) []string {
	t.Helper()
	client, err := driver.Connect(options.Client().ApplyURI(server.URI))
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Disconnect(t.Context())) }()
	names, err := client.ListDatabaseNames(t.Context(), bson.D{})
	require.NoError(t, err)
	return names
}

func TestStart_leavesNothingOnASharedServer(t *testing.T) {
	shared := mongotest.StartProcess(t)
	before := databases(t, shared)
	t.Setenv(mongotest.URIVariable, shared.URI)
	t.Run("a test", func(t *testing.T) {
		server := mongotest.Start(t)
		require.Equal(t, shared.URI, server.URI)
		require.Equal(t, shared.Address(), server.Address())
		unused := server.Database(t)
		for range 2 { // neither has what the other stores
			_, err := server.Open(t).Documents().Create(t.Context(), "key", []byte(`1`))
			require.NoError(t, err)
		}
		require.Len(t, databases(t, shared), len(before)+2)
		require.NotContains(t, databases(t, shared), unused)
	})
	require.Equal(t, before, databases(t, shared))
}

// refusal is a test that keeps why it failed.
type refusal struct {
	testing.TB
	failed string
}

func (r *refusal) Helper() {}

func (r *refusal) Fatal(args ...any) {
	r.failed = args[0].(string)
	panic(r)
}

func TestServer_Kill_sparesASharedServer(t *testing.T) {
	if peertest.Excluded() {
		t.Skip(peertest.ErrExcluded)
	}
	t.Setenv(mongotest.URIVariable, "mongodb://127.0.0.1:1")
	r := &refusal{TB: t}
	server := mongotest.Start(r)
	require.PanicsWithValue(t, r, server.Kill)
	require.Contains(t, r.failed, "StartProcess")
}

func TestServer_Restart_keepsAddressAndData(t *testing.T) {
	server := mongotest.StartProcess(t)
	address, documents := server.Address(), server.Open(t).Documents()
	revision, err := documents.Create(t.Context(), "key", []byte(`1`))
	require.NoError(t, err)
	server.Kill()
	server.Kill() // does nothing
	server.Restart()
	require.Equal(t, address, server.Address())
	doc, err := documents.Get(t.Context(), "key")
	require.NoError(t, err)
	require.Equal(t, revision, doc.Revision)
}
