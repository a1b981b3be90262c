package server_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestServerOfTheConfigurationIsParsed(t *testing.T) {
	t.Parallel()
	r, err := server.ParseFixed("http://gpu:8188, label = eu ,label=sdxl, price = 0.0005, models=/mnt/models/ ")
	require.NoError(t, err)
	require.Equal(t, []string{"eu", "sdxl"}, r.Labels)
	require.EqualValues(t, 500, r.Price)
	require.True(t, r.Fixed)
	require.Equal(t, "/mnt/models", r.ModelsFolder)
	for _, wrong := range []string{
		"http://gpu:8188,price=dear", "http://gpu:8188,weight=1", "http://gpu:8188,models=models", "http://gpu:8188,label=a b", "gpu",
	} {
		_, err := server.ParseFixed(wrong)
		require.Equal(t, fault.Invalid, fault.KindOf(err), wrong)
	}
}

func TestRegistrationByATokenExpiresWithinADay(t *testing.T) {
	t.Parallel()
	check := func(expires time.Duration) (server.Registration, error) {
		r := server.Registration{
			URL: "http://10.0.3.17:8188", ExpiresIn: expires, From: netip.MustParseAddr("10.0.3.17"),
			Token: &server.Token{Name: "autoscaler", Price: 3},
		}
		err := r.Check()
		return r, err
	}
	r, err := check(0)
	require.NoError(t, err)
	require.Equal(t, 5*time.Minute, r.ExpiresIn)
	require.Equal(t, server.By{Actor: "token:autoscaler", Reason: "registered by its machine"}, r.By)
	require.EqualValues(t, 3, r.Price)
	_, err = check(24 * time.Hour)
	require.NoError(t, err)
	_, err = check(24*time.Hour + 1)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	folder := server.Registration{URL: "http://10.0.3.17:8188", ModelsFolder: "/etc", Token: &server.Token{Name: "autoscaler"}}
	require.Equal(t, fault.Denied, fault.KindOf(folder.Check()), "a machine does not choose where Millrace writes")
}
