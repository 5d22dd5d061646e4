package own

// ServerFolders begins the names of the temporary folders of csiglab serve. The server makes
// them; the next server, and csiglab clean, remove those that killed servers have left.
const ServerFolders = "csiglab-serve-"
