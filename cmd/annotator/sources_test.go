package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// values gives each setting three values besides its default, one a source:
// file, environment, flag.
func values(name string) [3]string {
	special := map[string][3]string{
		"rest-port": {"1", "2", "3"}, "mqtt-port": {"1", "2", "3"}, "kafka-port": {"1", "2", "3"}, "db-port": {"1", "2", "3"},
		"parallelism": {"5", "6", "7"}, "max-connections": {"5", "6", "7"}, "drain-delay": {"1s", "2s", "3s"}, "buffer-size": {"5", "6", "7"},
		"max-shutdown": {"1s", "2s", "3s"}, "lease": {"1s", "2s", "3s"}, "db-timeout": {"1s", "2s", "3s"},
		"mqtt-protocol": {"ssl", "tls", "mqtts"}, "log-level": {"debug", "warn", "error"}, "log-format": {"json", "text", "json"},
	}
	if three, ok := special[name]; ok {
		return three
	}
	if name == "broker-hosts" {
		return [3]string{"file.example", "environment.example:1883", "*.flag.example,10.0.0.0/8"}
	}
	if name == "hosts" {
		return [3]string{"file.example", "environment.example", "https://flag.example,flag.example"}
	}
	return [3]string{"file/" + name, "environment/" + name, "flag/" + name}
}

// isSwitch reports whether a flag is on or off, and so has no three values.
func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// TestReadSettings_readsEverySettingFromAllSources goes over all flags there are, so that a new
// one that lacks a source fails.
func TestReadSettings_readsEverySettingFromAllSources(t *testing.T) {
	var all []*flag.Flag
	declare().VisitAll(func(f *flag.Flag) {
		if f.Name != "config" && f.Name != "version" { // neither can be in the file
			all = append(all, f)
		}
	})
	require.Greater(t, len(all), 30)
	seen := map[string]string{}
	for _, one := range all {
		name := one.Name
		variable := declare().Variable(name)
		t.Run(name, func(t *testing.T) {
			require.Empty(t, seen[variable], "two settings have the variable %s", variable)
			seen[variable] = name
			require.Equal(t, strings.HasPrefix(name, "db-"), strings.HasPrefix(variable, "DB_"))
			given := values(name)
			if isSwitch(one) {
				given = [3]string{"true", "false", "true"}
			}
			value := func(file, environment, argument bool) string {
				t.Helper()
				var args []string
				if file {
					args = append(args, "-config", writeConfig(t, "# a site\n"+name+" "+given[0]+"\n"))
				}
				t.Setenv(variable, "")
				if environment {
					t.Setenv(variable, given[1])
				}
				if argument {
					args = append(args, "-"+name+"="+given[2])
				}
				flags := declare()
				require.NoError(t, flags.Parse(args))
				return flags.Lookup(name).Value.String()
			}
			require.Equal(t, one.DefValue, value(false, false, false), "nothing is given")
			require.Equal(t, given[0], value(true, false, false), "the file alone")
			require.Equal(t, given[1], value(false, true, false), "the environment alone")
			require.Equal(t, given[2], value(false, false, true), "the flag alone")
			require.Equal(t, given[1], value(true, true, false), "the environment goes before the file")
			require.Equal(t, given[2], value(true, false, true), "the flag goes before the file")
			require.Equal(t, given[2], value(false, true, true), "the flag goes before the environment")
			require.Equal(t, given[2], value(true, true, true), "the flag goes before all")
		})
	}
}

func TestReadSettings_readsTheFileThatTheEnvironmentNames(t *testing.T) {
	t.Setenv("ANNOTATOR_CONFIG", writeConfig(t, "standalone-mode\nparallelism 3\n"))
	s, err := readSettings(nil)
	require.NoError(t, err)
	require.True(t, s.standalone)
	require.Equal(t, 3, s.Defaults.Parallelism)
}

func TestReadSettings_choosesMongoDBForAnyDatabaseSetting(t *testing.T) {
	for _, name := range databaseFlags() {
		if _, set := os.LookupEnv(declare().Variable(name)); set {
			t.Skip("the environment of this test names a database")
		}
	}
	s, err := readSettings(nil)
	require.NoError(t, err)
	require.False(t, s.database.used())
	for variable, value := range map[string]string{
		"DB_HOST": "db.example", "DB_PORT": "27018", "DB_DATABASE": "other", "DB_USER": "dbuser",
		"DB_URI": "mongodb://a,b/?replicaSet=rs0",
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, value)
			s, err := readSettings(nil)
			require.NoError(t, err)
			require.True(t, s.database.used())
			require.Len(t, s.database.given, 1)
			require.Contains(t, s.database.given[0], variable)
			t.Setenv(variable, "")
			s, err = readSettings(nil)
			require.NoError(t, err)
			require.False(t, s.database.used())
		})
	}
}

func TestDatabase_connectsAsItsSettingsSay(t *testing.T) {
	t.Setenv("DB_USER", "dbuser")
	t.Setenv("DB_PASSWORD", "p@ss:w/rd%")
	s, err := readSettings([]string{"-db-host", "::1"})
	require.NoError(t, err)
	config, err := s.database.config(s.Stores)
	require.NoError(t, err)
	require.Equal(t, "mongodb://[::1]:27017", config.URI)
	require.Equal(t, "annotator", config.Name)
	require.Equal(t, "dbuser", config.User)
	require.Equal(t, "p@ss:w/rd%", config.Password)
	require.Equal(t, "admin", config.AuthSource)
	s, err = readSettings([]string{"-db-uri", "mongodb://a,b/?replicaSet=rs0", "-db-auth-source", "users"})
	require.NoError(t, err)
	config, err = s.database.config(s.Stores)
	require.NoError(t, err)
	require.Equal(t, "mongodb://a,b/?replicaSet=rs0", config.URI)
	require.Equal(t, "users", config.AuthSource)
}

// A store is completed by the flags of the database, which may say the same again.
func TestDatabase_completesTheStore(t *testing.T) {
	for _, c := range []struct {
		args                []string
		uri, database, user string
	}{
		{[]string{"-store", "mongodb://a:1/things", "-db-user", "u", "-db-password", "hidden"}, "mongodb://a:1/things", "things", "u"},
		{[]string{"-store", "mongodb://a:1/things", "-db-host", "a", "-db-port", "1", "-db-database", "things"},
			"mongodb://a:1/things", "things", ""},
		{[]string{"-store", "mongodb://a", "-db-host", "a"}, "mongodb://a", "annotator", ""},
		{[]string{"-store", "mongodb://[::1]", "-db-host", "::1"}, "mongodb://[::1]", "annotator", ""},
		{[]string{"-store", "mongodb://a", "-db-database", "things"}, "mongodb://a", "things", ""},
		{[]string{"-store", "mongodb://a", "-db-uri", "mongodb://a"}, "mongodb://a", "annotator", ""},
		{[]string{"-store", "mongodb+srv://u:p@a/things", "-db-timeout", "1s"}, "mongodb+srv://u:p@a/things", "things", ""},
	} {
		s, err := readSettings(c.args)
		require.NoError(t, err, c.args)
		config, err := s.database.config(s.Stores)
		require.NoError(t, err, c.args)
		require.Equal(t, c.uri, config.URI)
		require.Equal(t, c.database, config.Name, c.args)
		require.Equal(t, c.user, config.User, c.args)
	}
}

func TestReadSettings_namesAWrongDatabaseSetting(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"URI and host": {[]string{"-db-uri", "mongodb://a", "-db-host", "b"},
			"-db-host (DB_HOST): cannot be given together with -db-uri (DB_URI)"},
		"URI and port": {[]string{"-db-uri", "mongodb://a", "-db-port", "1"},
			"-db-port (DB_PORT): cannot be given together with -db-uri (DB_URI)"},
		"port too large":   {[]string{"-db-port", "65536"}, "-db-port (DB_PORT): expected 1 to 65535, got 65536"},
		"no patience":      {[]string{"-db-timeout", "0s"}, "-db-timeout (DB_TIMEOUT): expected more than nothing"},
		"a password alone": {[]string{"-db-password", "hidden"}, "-db-password (DB_PASSWORD): is set, but -db-user (DB_USER) is not"},
		"a store and another host": {[]string{"-store", "mongodb://u:hidden@a/x", "-db-host", "b"},
			"-db-host (DB_HOST): is another place than -store (ANNOTATOR_STORE); give one of the two"},
		"a store and another port": {[]string{"-store", "mongodb://127.0.0.1:1/x", "-db-port", "2"},
			"-db-port (DB_PORT): is another place than -store (ANNOTATOR_STORE)"},
		"a store and another database": {[]string{"-store", "mongodb://a/x", "-db-database", "y"},
			"-db-database (DB_DATABASE): is another database than that of -store (ANNOTATOR_STORE)"},
		"a store and another URI": {[]string{"-store", "mongodb://a/x", "-db-uri", "mongodb://u:hidden@a/x"},
			"-db-uri (DB_URI): is another text than -store (ANNOTATOR_STORE)"},
		"a folder and a host": {[]string{"-store", "disk:x", "-db-host", "b"},
			"-db-host (DB_HOST): is another place than -store (ANNOTATOR_STORE)"},
		"two users": {[]string{"-store", "mongodb://u:hidden@a/x", "-db-user", "b"},
			"-db-user (DB_USER): names another user than -store (ANNOTATOR_STORE)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readSettings(c.args)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hidden")
		})
	}
}
