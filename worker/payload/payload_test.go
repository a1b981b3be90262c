package payload_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"github.com/millrace-dev/millrace/worker/payload"
)

var one, two = "one:" + strings.Repeat("11", 32), "two:" + strings.Repeat("22", 32)

func ring(t *testing.T, text string) *payload.Ring {
	t.Helper()
	r, err := payload.Parse(text)
	require.NoError(t, err)
	return r
}

func stored(t *testing.T, r *payload.Ring, value any) *common.Payload {
	t.Helper()
	p, err := r.Converter().ToPayload(value)
	require.NoError(t, err)
	return p
}

func read(r *payload.Ring, p *common.Payload) (value string, err error) {
	return value, r.Converter().FromPayload(p, &value)
}

func TestTheFirstKeyEncryptsAndEveryKeyDecrypts(t *testing.T) {
	t.Parallel()
	before := stored(t, ring(t, one), "a prompt")
	require.NotContains(t, string(before.GetData()), "prompt")
	id, encrypted := payload.KeyOf(before)
	require.True(t, encrypted)
	require.Equal(t, "one", id)
	rotated := ring(t, two+"\n# the former one\n"+one)
	id, _ = payload.KeyOf(stored(t, rotated, "a prompt"))
	require.Equal(t, "two", id)
	for _, p := range []*common.Payload{before, stored(t, rotated, "a prompt")} {
		value, err := read(rotated, p)
		require.NoError(t, err)
		require.Equal(t, "a prompt", value)
	}
	again := stored(t, ring(t, one), "a prompt")
	require.NotEqual(t, before.GetData(), again.GetData(), "each payload has a nonce of its own")
}

func TestPlaintextPayloadsStayReadable(t *testing.T) {
	t.Parallel()
	plain, err := converter.GetDefaultDataConverter().ToPayload("clear")
	require.NoError(t, err)
	for _, r := range []*payload.Ring{ring(t, one), nil} {
		value, err := read(r, plain)
		require.NoError(t, err)
		require.Equal(t, "clear", value)
	}
}

func TestMissingKeyIsNamed(t *testing.T) {
	t.Parallel()
	p := stored(t, ring(t, one), "a prompt")
	for _, r := range []*payload.Ring{ring(t, two), nil} {
		_, err := read(r, p)
		var missing *payload.MissingKeyError
		require.ErrorAs(t, err, &missing)
		require.ErrorContains(t, err, `key "one", which is not in the key ring`)
	}
	_, err := read(ring(t, "one:"+strings.Repeat("33", 32)), p)
	require.ErrorContains(t, err, `cannot be decrypted with key "one"`)
	p.Data = p.Data[:4]
	_, err = read(ring(t, one), p)
	require.ErrorContains(t, err, "truncated")
}

func TestAPayloadThatWasChangedIsRefused(t *testing.T) {
	t.Parallel()
	p := stored(t, ring(t, one), "a prompt")
	p.Data[len(p.Data)-1] ^= 1
	_, err := read(ring(t, one), p)
	require.ErrorContains(t, err, "cannot be decrypted")
}

func TestKeysThatCannotBeUsedAreRefusedWithoutShowingThem(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("ab", 31)
	for text, want := range map[string]string{
		secret:                        "ID:KEY",
		":" + secret:                  "ID:KEY",
		"one:" + secret:               `key "one" for Temporal is not 32 bytes`,
		"one:" + secret + "zz":        `key "one" for Temporal is not 32 bytes`,
		one + ",one:" + secret + "ab": `two keys "one"`,
	} {
		_, err := payload.Parse(text)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), secret)
	}
	none, err := payload.Parse(" \n# nothing\n")
	require.NoError(t, err)
	require.Nil(t, none)
}
