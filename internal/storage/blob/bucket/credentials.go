package bucket

import (
	"net/http"
	"os"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// metadataTimeout bounds a question to the machine's metadata service, which drops packets where there is none.
const metadataTimeout = 10 * time.Second

// machineCredentials are those that the AWS tools would find, in their order: the AWS_* variables, the shared credentials
// file, a web identity (Kubernetes), the container's endpoint (ECS, EKS), the instance's metadata service. They are asked
// for again shortly before they expire.
func machineCredentials() *credentials.Credentials {
	role := &credentials.IAM{Client: &http.Client{Timeout: metadataTimeout}}
	// The library would ask this endpoint for the other two kinds as well.
	if !anySet("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI") {
		role.Endpoint = os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT")
	}
	return credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, role})
}

func anySet(names ...string) bool {
	for _, name := range names {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}
