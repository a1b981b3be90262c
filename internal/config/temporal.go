package config

import "errors"

// Temporal configures the connection to an external Temporal. The variables have the names that Temporal's own tools
// use, if there are such names.
type Temporal struct {
	TLS        bool   // TEMPORAL_TLS, use TLS even if no setting below implies it
	CA         string // TEMPORAL_TLS_SERVER_CA_CERT_PATH, file of the CAs of the server; "" = those of the system
	Cert       string // TEMPORAL_TLS_CLIENT_CERT_PATH, file of the client's certificate; "" = none
	Key        string // TEMPORAL_TLS_CLIENT_KEY_PATH, file of its key
	ServerName string // TEMPORAL_TLS_SERVER_NAME, name in the server's certificate; "" = the host of the address
	APIKey     string // TEMPORAL_API_KEY
	APIKeyFile string // TEMPORAL_API_KEY_FILE, file of the API key

	Keys       string // MILLRACE_TEMPORAL_KEYS, ID:KEY comma list that encrypts what histories hold; "" = they are in the clear
	KeysFile   string // MILLRACE_TEMPORAL_KEYS_FILE, file with the same keys, one on each line
	Deployment string // MILLRACE_DEPLOYMENT, name of the deployment of the workers, if they have versions
	BuildID    string // MILLRACE_BUILD_ID, version of the workers of this process; "" = they have none

	UIOrigin string // MILLRACE_TEMPORAL_UI_ORIGIN, origin of the Web UI that may have payloads decrypted; "" = none
}

var temporalSettings = []setting{
	flag("TEMPORAL_TLS", func(c *Config) *bool { return &c.Temporal.TLS }),
	text("TEMPORAL_TLS_SERVER_CA_CERT_PATH", func(c *Config) *string { return &c.Temporal.CA }),
	text("TEMPORAL_TLS_CLIENT_CERT_PATH", func(c *Config) *string { return &c.Temporal.Cert }),
	text("TEMPORAL_TLS_CLIENT_KEY_PATH", func(c *Config) *string { return &c.Temporal.Key }),
	text("TEMPORAL_TLS_SERVER_NAME", func(c *Config) *string { return &c.Temporal.ServerName }),
	text("TEMPORAL_API_KEY", func(c *Config) *string { return &c.Temporal.APIKey }),
	text("TEMPORAL_API_KEY_FILE", func(c *Config) *string { return &c.Temporal.APIKeyFile }),
	text("MILLRACE_TEMPORAL_KEYS", func(c *Config) *string { return &c.Temporal.Keys }),
	text("MILLRACE_TEMPORAL_KEYS_FILE", func(c *Config) *string { return &c.Temporal.KeysFile }),
	text("MILLRACE_DEPLOYMENT", func(c *Config) *string { return &c.Temporal.Deployment }),
	text("MILLRACE_BUILD_ID", func(c *Config) *string { return &c.Temporal.BuildID }),
	text("MILLRACE_TEMPORAL_UI_ORIGIN", func(c *Config) *string { return &c.Temporal.UIOrigin }),
}

// Private returns the settings for the private server of local mode, which uses plain text and needs no credential.
func (t Temporal) Private() Temporal {
	return Temporal{Keys: t.Keys, KeysFile: t.KeysFile, UIOrigin: t.UIOrigin, Deployment: t.Deployment, BuildID: t.BuildID}
}

func (t Temporal) check() error {
	if (t.Cert == "") != (t.Key == "") {
		return errors.New("a client certificate for Temporal needs its key: TEMPORAL_TLS_CLIENT_CERT_PATH and " +
			"TEMPORAL_TLS_CLIENT_KEY_PATH go together")
	}
	if t.Keys != "" && t.KeysFile != "" {
		return errors.New("keys for Temporal come from MILLRACE_TEMPORAL_KEYS or from MILLRACE_TEMPORAL_KEYS_FILE, not from both")
	}
	return nil
}
