package userdata

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// SettingsPath is the file of an editor's settings. It has the name that the self-hosted runtime uses.
const SettingsPath Path = "comfy.settings.json"

// MaxSettings bounds the bytes of an account's settings.
const MaxSettings = 1 << 20

// Settings are an editor's settings by their ids. Only the editor interprets the values.
type Settings map[string]Value

// Value is the JSON of a setting.
type Value = json.RawMessage

// Settings returns the settings of an account, empty if none were stored.
func (s Service) Settings(ctx context.Context, account string) (Settings, error) {
	settings, _, err := s.settings(ctx, account)
	return settings, err
}

// settings also returns the hash of the bytes, or nil if there is no file.
func (s Service) settings(ctx context.Context, account string) (Settings, *blob.Ref, error) {
	f, r, err := s.Open(ctx, account, SettingsPath)
	if fault.Is(err, fault.NotFound) && f.Path == "" { // there is no file; a file whose bytes are lost is an error
		return Settings{}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	settings, err := readSettings(r)
	return settings, &f.Hash, errors.Join(err, r.Close())
}

func readSettings(r io.Reader) (Settings, error) {
	raw, err := io.ReadAll(io.LimitReader(r, MaxSettings+1))
	if err != nil {
		return nil, err
	}
	settings := Settings{}
	if err := json.Unmarshal(raw, &settings); err != nil || settings == nil || len(raw) > MaxSettings {
		return nil, fault.New(fault.Conflict, fault.CodeInvalidSettings, "the file %s does not contain settings", SettingsPath)
	}
	return settings, nil
}

// changeAttempts bounds how often a change is repeated after a concurrent change. An editor sends several changes at
// the same time.
const changeAttempts = 32

// ChangeSettings stores values and leaves the other settings unchanged. It is safe under concurrent changes.
func (s Service) ChangeSettings(ctx context.Context, account string, values Settings) error {
	for range changeAttempts {
		settings, was, err := s.settings(ctx, account)
		if err != nil {
			return err
		}
		maps.Copy(settings, values)
		err = s.replaceSettings(ctx, account, settings, was)
		if !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return fault.New(fault.Unavailable, "", "the settings are being changed by other requests; try again")
}

func (s Service) replaceSettings(ctx context.Context, account string, settings Settings, was *blob.Ref) error {
	raw, err := json.Marshal(settings)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, fault.CodeInvalidSettings, "a value is not JSON")
	}
	if len(raw) > MaxSettings {
		return fault.New(fault.Exhausted, fault.CodeBodyTooLarge, "the settings are larger than %d bytes", MaxSettings)
	}
	ref, err := blob.PutBytes(ctx, s.Blobs, raw)
	if err != nil {
		return err
	}
	_, err = s.Swap(ctx, account, File{Path: SettingsPath, Hash: ref, Size: int64(len(raw))}, was, MaxFiles)
	return err
}
