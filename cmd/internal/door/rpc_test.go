package door_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
)

func TestDoor_Admit_tellsWhatIsMissing(t *testing.T) {
	reader := access.NewToken(access.Identity{Name: "hospital-7", Role: httpapi.Reader}, "a token of a hospital")
	d, _ := open(t, "127.0.0.1:0", door.Config{Tokens: []*access.TokenFile{reader}})
	admit := func(token string, role httpapi.Role) (string, int) {
		name, err := d.Admit(t.Context(), access.Credentials{Address: "192.0.2.1:5", Token: token}, role)
		if err == nil {
			return name, http.StatusOK
		}
		var status interface{ HTTPStatus() int }
		require.ErrorAs(t, err, &status)
		require.NotContains(t, err.Error(), "hospital\"")
		return name, status.HTTPStatus()
	}
	name, status := admit("a token of a hospital", httpapi.Reader)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "hospital-7", name)
	_, status = admit("a token of a hospital", httpapi.Operator)
	require.Equal(t, http.StatusForbidden, status)
	_, status = admit("", httpapi.Reader)
	require.Equal(t, http.StatusUnauthorized, status)
	for range 10 {
		_, status = admit("a wrong token", httpapi.Reader)
		require.Equal(t, http.StatusUnauthorized, status)
	}
	_, status = admit("another wrong token", httpapi.Reader)
	require.Equal(t, http.StatusTooManyRequests, status)
}
