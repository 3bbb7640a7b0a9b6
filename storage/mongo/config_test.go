package mongo_test

import (
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

func TestNew_namesTheFieldOfAWrongConfiguration(t *testing.T) {
	const uri = "mongodb://127.0.0.1"
	for name, c := range map[string]struct {
		config mongo.Config
		want   string
	}{
		"no URI": {mongo.Config{Database: "d"}, "Config.URI: it must begin with mongodb://"},
		"another scheme": {
			mongo.Config{URI: "http://127.0.0.1", Database: "d"},
			"Config.URI: it must begin with mongodb://",
		},
		"no database":      {mongo.Config{URI: uri}, "Config.Database: must be set"},
		"a wrong database": {mongo.Config{URI: uri, Database: "a.b"}, `Config.Database: "a.b" is no name`},
		"a password alone": {
			mongo.Config{URI: uri, Database: "d", Password: "hidden"},
			"Config.Password: it is set, but User is not",
		},
		"a negative timeout": {mongo.Config{URI: uri, Database: "d", Timeout: -1}, "Config.Timeout: must not be negative"},
		"a negative patience": {
			mongo.Config{URI: uri, Database: "d", SelectTimeout: -1},
			"Config.SelectTimeout: must not be negative",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mongo.New(c.config)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hidden")
		})
	}
}

func TestOpen_hidesCredentialsInErrors(t *testing.T) {
	at := mongotest.UnusedAddress(t)
	for _, uri := range []string{
		"mongodb://dbuser:hidden@" + at,
		"mongodb://dbuser:hid@den@" + at,
		"mongodb://dbuser:hid%ZZden@" + at,
		"mongodb://dbuser:hid/den@" + at,
		"mongodb://dbuser:hidden@" + at + "/?bogus=%ZZ",
		"mongodb://dbuser:hidden@:port",
		"mongodb://dbuser:hidden@" + at + "/?authMechanism=bogus",
		"mongodb://" + at + "/?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:hidden",
		"mongodb://" + at + "/?tlsCertificateKeyFile=/nowhere&tlsCertificateKeyFilePassword=hidden",
	} {
		for _, config := range []mongo.Config{
			{URI: uri, Database: "d", SelectTimeout: 50 * time.Millisecond},
			{URI: uri, Database: "d", SelectTimeout: 50 * time.Millisecond, User: "dbuser", Password: "hidden"},
		} {
			_, err := mongo.Open(t.Context(), config)
			require.Error(t, err)
			for _, part := range []string{"hidden", "hid@den", "hid%ZZden", "hid/den", "dbuser"} {
				require.NotContains(t, err.Error(), part, "of %s", uri)
			}
		}
	}
}

func TestOpen_distinguishesARefusedLoginFromAnOutage(t *testing.T) {
	server := mongotest.StartProcess(t) // which has no users
	config := server.Config("d")
	config.User, config.Password = "dbuser", "hidden"
	_, err := mongo.Open(t.Context(), config)
	require.ErrorContains(t, err, "open mongo store at "+server.Address())
	require.NotErrorIs(t, err, storage.ErrUnavailable)
	require.NotContains(t, err.Error(), "hidden")
}

func TestOpen_namesAServerThatIsAway(t *testing.T) {
	at := mongotest.UnusedAddress(t)
	config := mongo.Config{URI: "mongodb://" + at, Database: "d", SelectTimeout: 100 * time.Millisecond}
	_, err := mongo.Open(t.Context(), config)
	require.Error(t, err)
	for config.SelectTimeout < 30*time.Second && !strings.Contains(err.Error(), "refused") {
		config.SelectTimeout *= 2 // a busy machine needs longer to find out why
		_, err = mongo.Open(t.Context(), config)
		require.Error(t, err)
	}
	require.ErrorIs(t, err, storage.ErrUnavailable)
	require.ErrorContains(t, err, "open mongo store at "+at)
	require.ErrorContains(t, err, "refused")

	store, err := mongo.New(config)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	require.Equal(t, at, store.Hosts())
	_, err = store.Documents().Get(t.Context(), "some/key")
	require.ErrorIs(t, err, storage.ErrUnavailable)
	require.ErrorContains(t, err, `get document "some/key": `)
}

func TestOpen_endsWhenTheServerDoesNotAnswer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = silent.Close() }() // its backlog takes the connections
	store, err := mongo.New(mongo.Config{
		URI: "mongodb://" + silent.Addr().String(), Database: "d",
		SelectTimeout: time.Minute, Timeout: 100 * time.Millisecond,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	_, err = store.Documents().Create(t.Context(), "key", []byte(`1`))
	require.ErrorIs(t, err, storage.ErrUnavailable)
}

func FuzzABoundFollowsExactlyItsPrefix(f *testing.F) {
	for _, prefix := range []string{"", "a", "a/", "\U0010ffff", "a\U0010ffff", "\ud7ff", "\ue000", "~", "é"} {
		f.Add(prefix, prefix+"x")
		f.Add(prefix, "b")
		f.Add(prefix, "\ue000")
	}
	f.Fuzz(func(t *testing.T, prefix, key string) {
		if !utf8.ValidString(prefix) || !utf8.ValidString(key) {
			t.Skip("no key of a document")
		}
		end := mongo.Behind(prefix)
		require.True(t, utf8.ValidString(end))
		within := key >= prefix && (end == "" || key < end)
		require.Equal(t, strings.HasPrefix(key, prefix), within, "%q and %q, which ends before %q", prefix, key, end)
	})
}
